"""The operators of torch, one a row: what each does to the dimensions, whether it is linear, and what it runs over.

The interpreter reads its rules from here. A reader can hold each row against torch's documentation:

does      keep: elementwise, or the dimensions stay as they are; reshape, move, split: they change; reduce: one goes;
          additive, arithmetic: of two tensors; whole: looks at a whole dimension; scalar: gives a number.
linear    yes: f(a + b) = f(a) + f(b), so that a partial sum stays one; no: on a partial sum the result is part of no
          sum; -: that depends on the other operand, or nothing of the tensor goes into the result.
over      the dimension it runs over, by which argument after the tensor names it; classes: the last one, of classes or
          channels; -: no dimension as a whole. On one rank's part of that dimension the result is another one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operator:
    """One row. `over`: the index of the argument that names the dimension, None for the last one, or no dimension."""

    name: str
    does: str
    linear: bool | None
    runs_over: bool
    over: int | None


_TABLE = """
abs                           keep         no       -
add_                          keep         yes      -
alpha_dropout                 keep         no       -
bfloat16                      keep         yes      -
bool                          keep         no       -
celu                          keep         no       -
clamp                         keep         no       -
clip                          keep         no       -
clone                         keep         yes      -
contiguous                    keep         yes      -
copy_                         keep         -        -
cos                           keep         no       -
cpu                           keep         yes      -
cuda                          keep         yes      -
cumsum                        keep         yes      0
detach                        keep         yes      -
detach_                       keep         yes      -
div_                          keep         yes      -
double                        keep         yes      -
dropout                       keep         yes      -
dropout_                      keep         yes      -
elu                           keep         no       -
empty_like                    keep         -        -
erf                           keep         no       -
exp                           keep         no       -
fill_                         keep         -        -
flip                          keep         yes      -
float                         keep         yes      -
full_like                     keep         -        -
gelu                          keep         no       -
half                          keep         yes      -
hardswish                     keep         no       -
hardtanh                      keep         no       -
int                           keep         no       -
leaky_relu                    keep         no       -
log                           keep         no       -
log_softmax                   keep         no       0
logsigmoid                    keep         no       -
long                          keep         no       -
make_viewless                 keep         yes      -
make_viewless_tensor          keep         yes      -
masked_fill                   keep         -        -
masked_fill_                  keep         -        -
masked_scatter                keep         -        -
mish                          keep         no       -
mul_                          keep         yes      -
nan_to_num                    keep         no       -
neg                           keep         yes      -
normalize_                    keep         no       -
ones_like                     keep         -        -
pin_memory                    keep         yes      -
pow                           keep         no       -
rand_like                     keep         -        -
randn_like                    keep         -        -
relu                          keep         no       -
relu_                         keep         no       -
requires_grad_                keep         yes      -
retain_grad                   keep         yes      -
roll                          keep         yes      -
round                         keep         no       -
rsqrt                         keep         no       -
selu                          keep         no       -
sigmoid                       keep         no       -
sign                          keep         no       -
silu                          keep         no       -
sin                           keep         no       -
softmax                       keep         no       0
softplus                      keep         no       -
sqrt                          keep         no       -
square                        keep         no       -
sub_                          keep         yes      -
tanh                          keep         no       -
tanh_                         keep         no       -
to                            keep         yes      -
tril                          keep         yes      -
triu                          keep         yes      -
type                          keep         yes      -
type_as                       keep         yes      -
zero_                         keep         -        -
zeros_like                    keep         yes      -
flatten                       reshape      yes      -
reshape                       reshape      yes      -
reshape_as                    reshape      yes      -
unflatten                     reshape      yes      -
view                          reshape      yes      -
view_as                       reshape      yes      -
T                             move         yes      -
as_strided                    move         yes      -
broadcast_to                  move         yes      -
expand                        move         yes      -
expand_as                     move         yes      -
gather                        move         yes      -
index_add                     move         yes      -
index_copy                    move         yes      -
index_select                  move         yes      -
mT                            move         yes      -
masked_select                 move         yes      -
moveaxis                      move         yes      -
movedim                       move         yes      -
narrow                        move         yes      -
pad                           move         yes      -
permute                       move         yes      -
rearrange                     move         yes      -
repeat                        move         yes      -
repeat_interleave             move         yes      -
rot90                         move         yes      -
scatter                       move         yes      -
scatter_                      move         yes      -
scatter_add                   move         yes      -
select                        move         yes      -
squeeze                       move         yes      -
squeeze_                      move         yes      -
swapaxes                      move         yes      -
t                             move         yes      -
take_along_dim                move         yes      -
tile                          move         yes      -
transpose                     move         yes      -
transpose_                    move         yes      -
unfold                        move         yes      -
unsqueeze                     move         yes      -
unsqueeze_                    move         yes      -
chunk                         split        yes      -
split                         split        yes      -
split_tensor_along_last_dim   split        yes      -
split_with_sizes              split        yes      -
tensor_split                  split        yes      -
unbind                        split        yes      -
all                           reduce       no       -
amax                          reduce       no       -
amin                          reduce       no       -
any                           reduce       no       -
argmax                        reduce       no       0
argmin                        reduce       no       0
logsumexp                     reduce       no       -
max                           reduce       no       -
mean                          reduce       yes      0
min                           reduce       no       -
norm                          reduce       no       -
prod                          reduce       no       -
sort                          reduce       no       0
std                           reduce       no       0
sum                           reduce       yes      -
topk                          reduce       no       1
var                           reduce       no       0
add                           additive     yes      -
sub                           additive     yes      -
subtract                      additive     yes      -
div                           arithmetic   -        -
maximum                       arithmetic   no        -
minimum                       arithmetic   no        -
mul                           arithmetic   -        -
multiply                      arithmetic   -        -
true_divide                   arithmetic   -        -
argsort                       whole        no       0
cross_entropy                 whole        no       classes
group_norm                    whole        no       -
layer_norm                    whole        no       classes
multinomial                   whole        no       classes
nll_loss                      whole        no       classes
normalize                     whole        no       -
rms_norm                      whole        no       classes
softmin                       whole        no       0
data_ptr                      scalar       -        -
dim                           scalar       -        -
element_size                  scalar       -        -
get_device                    scalar       -        -
item                          scalar       -        -
ndimension                    scalar       -        -
nelement                      scalar       -        -
numel                         scalar       -        -
size                          scalar       -        -
stride                        scalar       -        -
tolist                        scalar       -        -
"""


def _row(line: str) -> Operator:
    name, does, linear, over = line.split()
    return Operator(
        name,
        does,
        {"yes": True, "no": False}.get(linear),
        over != "-",
        int(over) if over.isdigit() else None,
    )


OPERATORS = {row.name: row for row in map(_row, _TABLE.strip().splitlines())}


def _that(*does: str) -> frozenset[str]:
    return frozenset(row.name for row in OPERATORS.values() if row.does in does)


KEEP, RESHAPE, MOVE, SPLIT = _that("keep"), _that("reshape"), _that("move"), _that("split")

REDUCE, SCALAR = _that("reduce"), _that("scalar")

ADDITIVE = _that("additive")

ARITHMETIC = _that("additive", "arithmetic")

NONLINEAR = frozenset(row.name for row in OPERATORS.values() if row.linear is False)

WHOLE = {row.name: row.over for row in OPERATORS.values() if row.runs_over}

METHODS = frozenset(OPERATORS) - _that("whole") | {
    "matmul",
    "bmm",
    "mm",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
}
