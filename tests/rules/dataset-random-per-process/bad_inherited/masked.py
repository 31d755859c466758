import numpy as np

from fields import Fields


class Masked(Fields):
    def model_input(self, index):
        return np.stack([self.states[index], self.states[0]])
