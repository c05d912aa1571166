"""Many runs: plans, workers on this machine, engines of many machines."""
