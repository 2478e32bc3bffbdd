"""The trainings' command line: `python -m vision.training artwork|compose|reader|detector|corners …`."""

import sys

from vision.training.cli import main

sys.exit(main())
