"""Pangu-Weather as public PyTorch code has it: what the reference is compared with.

Written from the paper (Bi et al. 2023, Methods) in the style of its public reimplementations: windows are cut
out with permutes, the position bias is gathered through an index, scores are float32 tensors of N x N that
are added to, masked and put through softmax one operation after the other.

# B batch, P pressure level, Y latitude, X longitude, C channel, nX, T windows, N tokens in a window, H heads
"""

import torch
from torch import nn

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.modules.attention.windows import WindowGrid
from onescience_check.reference_models.modules.padding import crop_grid, pad_grid


class PublicBlock(nn.Module):
    """One transformer block; the arguments and the result of PanguTransformer."""

    def __init__(self, dim, input_resolution, num_heads, window_size, shift_size=(0, 0, 0)):
        super().__init__()
        self.grid = grid = WindowGrid(input_resolution, window_size, shift_size)
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        w_p, w_y, w_x = grid.window
        entries = (2 * w_x - 1) * w_y**2 * w_p**2
        self.bias_table = nn.Parameter(torch.randn(entries, grid.window_types, num_heads) * 0.02)
        self.register_buffer("index", _bias_index(grid.window), persistent=False)
        blocked = grid.blocked_pairs()
        mask = None if blocked is None else torch.zeros(blocked.shape).masked_fill(blocked, -100.0)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, _, channels = x.shape
        grid, shortcut = self.grid, x
        x = self.norm1(x).view(batch, *grid.resolution, channels)
        x = pad_grid(x, grid.padded, dim=1)
        if any(grid.shift):
            x = torch.roll(x, shifts=[-cells for cells in grid.shift], dims=(1, 2, 3))
        (n_p, n_y, n_x), (w_p, w_y, w_x) = grid.counts, grid.window
        x = x.view(batch, n_p, w_p, n_y, w_y, n_x, w_x, channels).permute(0, 5, 1, 3, 2, 4, 6, 7).contiguous()
        x = self.attention(x.view(batch * n_x, n_p * n_y, w_p * w_y * w_x, channels))
        x = x.view(batch, n_x, n_p, n_y, w_p, w_y, w_x, channels).permute(0, 2, 4, 3, 5, 1, 6, 7).contiguous()
        x = x.view(batch, *grid.padded, channels)
        if any(grid.shift):
            x = torch.roll(x, shifts=grid.shift, dims=(1, 2, 3))
        x = crop_grid(x, grid.resolution, dim=1).reshape(batch, -1, channels)
        x = shortcut + x
        return x + self.mlp(self.norm2(x))

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        windows, types, tokens, channels = x.shape
        qkv = self.qkv(x).view(windows, types, tokens, 3, self.num_heads, channels // self.num_heads)
        q, k, v = qkv.permute(3, 0, 4, 1, 2, 5)  # each (B nX, H, T, N, D)
        scores = (q.float() * self.scale) @ k.float().transpose(-2, -1)
        bias = self.bias_table[self.index].view(tokens, tokens, types, self.num_heads)
        scores = scores + bias.permute(3, 2, 0, 1).contiguous().float()
        if self.mask is not None:
            scores = scores + self.mask.float()
        weights = scores.softmax(dim=-1).to(v.dtype)
        out = (weights @ v).permute(0, 2, 3, 1, 4).reshape(windows, types, tokens, channels)
        return self.proj(out)


class PublicEmbedding(nn.Module):
    """Patch embedding as a strided convolution, with the weights of a PanguEmbedding."""

    def __init__(self, embedding):
        super().__init__()
        self.proj, self.padded_size = embedding.proj, embedding.padded_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.unsqueeze(2) if x.ndim == 4 else x
        return self.proj(pad_grid(x, self.padded_size, dim=2)).flatten(2).transpose(1, 2)


class PublicRecovery(nn.Module):
    """Patch recovery as a transposed convolution, with the weights of a PanguPatchRecovery."""

    def __init__(self, recovery):
        super().__init__()
        self.proj, self.img_size, self.surface = recovery.proj, recovery.img_size, recovery.surface

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = crop_grid(self.proj(x.permute(0, 4, 1, 2, 3)), self.img_size, dim=2)
        return x.squeeze(2) if self.surface else x


def _bias_index(window) -> torch.Tensor:
    """(N * N,) places in the bias table of all (query, key) pairs."""
    w_p, w_y, w_x = window
    p, y, x = torch.cartesian_prod(*(torch.arange(side) for side in window)).T
    key = p * w_y + y  # level and latitude enter by position, longitude by distance
    pair = key[:, None] * (w_p * w_y) + key[None, :]
    return (pair * (2 * w_x - 1) + x[:, None] - x[None, :] + w_x - 1).flatten()


def public_pangu(**sizes) -> Pangu:
    """The whole model: the layers around the blocks are Conv3d, ConvTranspose3d and Linear, as in public code."""
    model = Pangu(**sizes, drop_path=0.0)
    model.patchembed2d = PublicEmbedding(model.patchembed2d.embedding)
    model.patchembed3d = PublicEmbedding(model.patchembed3d.embedding)
    model.patchrecovery2d = PublicRecovery(model.patchrecovery2d.recovery)
    model.patchrecovery3d = PublicRecovery(model.patchrecovery3d.recovery)
    for layer in (model.layer1, model.layer2, model.layer3, model.layer4):
        blocks = layer.fuser.blocks
        for place, block in enumerate(blocks):
            attention = block.transformer.attn.attention
            grid = attention.grid
            heads = attention.earth_position_bias_table.shape[1]
            blocks[place] = PublicBlock(
                attention.proj.in_features, grid.resolution, heads, grid.window, grid.shift
            )
    return model
