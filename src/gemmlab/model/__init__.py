"""What bounds a kernel on a chip and how long it takes: occupancy, waves, traffic through L2, rooflines, time."""

from gemmlab.model.bounds import lower_bounds
from gemmlab.model.constants import GENERIC, Constants, constants_of
from gemmlab.model.many import Predictions, predict_many
from gemmlab.model.occupancy import Occupancy, occupancy
from gemmlab.model.outlook import Outlook
from gemmlab.model.predict import predict

__all__ = [
    "GENERIC",
    "Constants",
    "Occupancy",
    "Outlook",
    "Predictions",
    "constants_of",
    "lower_bounds",
    "occupancy",
    "predict",
    "predict_many",
]
