"""What real code does between two layers keeps the TP state, or loses it where nothing can be shown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

MODEL = """
from einops import rearrange, repeat
from weather_ops import mystery


class Model(nn.Module):
    def __init__(self, dim, num_heads, config, flag, act, **kwargs):
        super().__init__()
        self.flag, self.scale, self.dim = flag, num_heads**-0.5, dim
        self.split = COLUMN(dim, dim)
        self.full = nn.Linear(dim, dim)
        self.drop, self.gelu, self.identity = nn.Dropout(0.1), nn.GELU(), nn.Identity()
        self.activation = act
        self.seq = nn.Sequential(nn.SiLU(), nn.Dropout(0.1))
        self.acts = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        self.probe = SPLIT_ROW(dim, dim)

    def helper(self, t, times=1):
        for _ in range(times):
            t = self.drop(t)
        return t

    @staticmethod
    def static(t):
        return t.contiguous()

    def forward(self, x, other, mask=None):
        %s
        b, n, c = x.shape
%s
        return self.probe(h)[0]
"""
START = {"sharded": "h = self.split(x)[0]", "full": "h = self.full(x)"}

KEEPS = r"""
h = F.gelu(h)
h = torch.relu(h)
h = h.sigmoid() * h.tanh()
h = F.silu(h, inplace=True)
h = F.dropout(h, 0.1, self.training)
h = self.drop(self.gelu(h))
h = self.identity(h)
h = self.activation(h)
h = self.seq(h)
h = self.acts[0](h)
h = nn.functional.leaky_relu(h, 0.2)
h = h.contiguous().clone().detach()
h = h.to(torch.bfloat16).float().half().type_as(x)
h = h.to(device=x.device, dtype=x.dtype)
h = h.cuda(non_blocking=True)
h = h.reshape(b * n, -1).view(b, n, -1)
h = h.view(b, n, 4, -1).transpose(1, 2).flatten(2)
h = h.permute(0, 2, 1).contiguous().permute(0, 2, 1)
h = h.transpose(0, 1)
h = h.unsqueeze(1).squeeze(1)
h = h.flatten(0, 1).unflatten(0, (b, n))
h = h[:, 0]
h = h[:, 1:, :]
h = h[0]
h = h[mask]
h = torch.roll(h, shifts=(1, 1), dims=(1, 2))
h = F.pad(h, (0, 0, 0, 1))
h = rearrange(h, "b n c -> n b c")
h = repeat(h, "b n c -> b r n c", r=2)
h = h.masked_fill(mask, 0.0)
h = h.clamp(min=0).nan_to_num()
h = h * self.scale
h = h / 2 + 1
h = 1 - h
h = -h
h += 1
h *= self.scale
h = h.mul_(2).add_(1)
h.mul_(2)
h = torch.add(h, 1)
h = torch.softmax(h, dim=-1)
h = h.softmax(dim=-1)
h = h + h
h = torch.mul(h, h)
h = torch.cat([h, h], dim=1)
h = torch.stack([h, h], dim=0)
a, d = h.chunk(2, dim=1); h = a
a, d = torch.split(h, 4, dim=1); h = d
a, d, *_ = h.unbind(1); h = a
h = torch.unbind(h, dim=0)[0]
h, g = h.chunk(2, dim=-1); h = F.silu(h) * g
h = torch.matmul(h, h.transpose(-2, -1)).softmax(-1) @ h
h = torch.bmm(h, h)
h = torch.einsum("bnc,bmc->bnm", h, h)
h = F.scaled_dot_product_attention(h, h, h)
h = F.scaled_dot_product_attention(h, h, h, attn_mask=mask, is_causal=False).transpose(1, 2).reshape(b, n, -1)
h = torch.clone(h).to("cuda")
h = self.helper(h)
h = self.helper(t=h, times=3)
h = self.static(h)
h = Model.static(h)
h = (lambda t: t.float())(h)
h = functools.partial(F.dropout, p=0.1)(h)
h = torch.nn.functional.gelu(input=h)
h = [h, x][0]
h = (x, h)[-1]
h = {"h": h}["h"]
d = {}; d["h"] = h; h = d["h"]
d = dict(h=h); h = d.get("h")
d = []; d.append(h); h = d.pop()
h = [F.relu(t) for t in (h, h)][1]
h, _ = h, None
h = h if self.flag else h.relu()
if (g := h.float()) is not None: h = g
if self.flag: h = h.float()
with torch.autocast("cuda"): h = h.relu()
with torch.no_grad() as g: h = h.relu()
for act in self.acts: h = act(h)
for i in range(self.dim): h = h.relu()
for i, act in enumerate(self.acts): h = act(h) if i else h
while h.shape[1] > 1: h = h.relu()
try: h = h.relu()\nexcept RuntimeError: raise
def inner(t): return t.relu()\nh = inner(h)
self.cache = h; h = self.cache
setattr(self, "cache", h); h = getattr(self, "cache")
h = torch.utils.checkpoint.checkpoint(self.helper, h, use_reentrant=False)
h = torch.compile(self.helper)(h)
h = getattr(torch, "relu")(h)
assert h.shape[-1] > 0; h = h.relu()
print(h); h = h.relu()
h = torch.where(mask, h, 0.0)
h = h.where(mask, 0.0)
h = h.mT.mT
h = h.narrow(1, 0, 4)
h = torch.nn.functional.normalize(h, dim=1)
h = torch.nan_to_num(h)
h = torch.tril(h)
h = h.expand(b, -1, -1)
h = h.repeat(1, 2, 1)
h = torch.permute(h, (1, 0, 2))
h = torch.swapaxes(h, 0, 1)
h = torch.movedim(h, 0, 1)
h = torch.reshape(h, (b, n, -1))
h = torch.flatten(h, 1, 2)
h = torch.utils.checkpoint.checkpoint(lambda t: self.drop(t), h)
match self.flag:\n    case 1: h = h.relu()\n    case _: h = h.tanh()
""".strip().split("\n")

LOSES = r"""
h = mystery(h)
h = self.unseen(h)
h = self.flag(h)
h = other
h = torch.fft.fft(h)
h = h.whatever()
h = h.sum(-1)
h = h.mean(dim=1, keepdim=True)
h = torch.max(h, dim=-1)[0]
torch.distributed.all_gather(d := [], h); h = torch.cat(d, dim=-1)
h = torch.matmul(other, h)
h = h @ other
h = torch.topk(h, 2)[0]
h = self.full if self.flag else mystery(h)
h = F.conv1d(h, other)
h = F.linear(h, other)
h = globals()["h"]
h = torch.ops.weather.mix(h)
h = d[h] if (d := other) is not None else other
""".strip().split("\n")


def model(start: str, line: str) -> str:
    """The module with `line` between its two layers; `\\n` in it stands for a line break."""
    return MODEL % (start, textwrap.indent(line.replace("\\n", "\n"), " " * 8))


@pytest.mark.parametrize("kind", sorted(START))
@pytest.mark.parametrize("line", KEEPS)
def test_the_state_survives(line: str, kind: str, states: Callable[[str], set[str]]) -> None:
    assert states(model(START[kind], line)) == {kind}


@pytest.mark.parametrize("kind", sorted(START))
@pytest.mark.parametrize("line", LOSES)
def test_nothing_is_claimed_of_what_is_not_known(
    line: str, kind: str, states: Callable[[str], set[str]]
) -> None:
    assert states(model(START[kind], line)) <= {"unknown", "no tensor"}
