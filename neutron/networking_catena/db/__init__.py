"""The database: its migrations."""
