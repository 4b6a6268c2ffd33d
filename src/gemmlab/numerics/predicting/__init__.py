"""What a unit and a schedule will do to the digits, before anything is multiplied."""

from gemmlab.numerics.predicting.predict import Predicted, predict
from gemmlab.numerics.predicting.promotion import pick_promotion

__all__ = ["Predicted", "pick_promotion", "predict"]
