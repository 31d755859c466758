"""Code of a model with tensor_parallel layers."""

class Grid:
    def partition(self, x):
        (n_y, n_x), (w_y, w_x) = self.counts, self.window
        x = x.view(x.shape[0], n_y, w_y, n_x, w_x, x.shape[-1])
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, w_y * w_x, x.shape[-1])

    def merge(self, windows):
        (n_y, n_x), (w_y, w_x) = self.counts, self.window
        x = windows.view(-1, n_y, n_x, w_y, w_x, windows.shape[-1])
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, *self.padded, windows.shape[-1])
