"""`python -m onescience_check` is the command `onescience-check`."""

from onescience_check.checkers.frontends.cli import main

if __name__ == "__main__":
    main()
