"""The command `toolwright`: one module a command."""
