"""Files that go out with an exported policy as they are. They do not need openteam, and import nothing of it."""
