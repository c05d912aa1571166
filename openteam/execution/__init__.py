"""Many runs: processes on this machine, and plans."""
