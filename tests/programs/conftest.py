"""The programs here are scripts: they are run, never imported."""

collect_ignore_glob = ["*.py"]
