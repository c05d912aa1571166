"""Tasks as environments of other libraries, and environments of other libraries as tasks."""
