"""`python -m katod`."""

from katod.cli import main

if __name__ == "__main__":
    main()
