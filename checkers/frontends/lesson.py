"""The page that `explain placements` prints, and `docs/placements.md` shows: the types of what the ranks hold."""

from __future__ import annotations

from ..language import LOCALE, language

PLACEMENTS = """\
# Placements: what each rank holds

The check gives every value of a forward a type: what one rank holds of it, along the tensor-parallel axis. A finding of
71xx or 77xx is a place where two types do not fit. Nothing is annotated and nothing is run: the types follow from the
layers and collectives in the code.

```
 a whole value, 4 channels      on 2 ranks it is one of
                              rank 0        rank 1
 [ a  b  c  d ]   whole     [ a b c d ]   [ a b c d ]      the same on every rank
                  split     [ a b ]       [ c d ]          rank r holds the r-th part: S(last)
                  partial   [ p q r s ]   [ a-p b-q ... ]  the whole is the sum over the ranks
                  own       [ max(a,b) ]  [ max(c,d) ]     each rank its own: of no whole yet

 tokens, under sequence parallelism (for both values of the flag)
 t0 t1 t2 t3      all       [ t0 t1 t2 t3 ] on each rank
                  own       [ t0 t1 ]     [ t2 t3 ]        each rank its stretch
```

How the types go on, in a block of Megatron:

```
  whole --Column--> split --gelu, dropout forked--> split --Row--> whole
    |                                                 |
    |  backward: the copy sums the gradient           |  Row(reduce_results=False), or a raw weight
    |  (copy_to_tensor_model_parallel_region)         |  cut on its inputs: partial --reduce_from--> whole

  own tokens --norm (marked)--> own --Column gathers--> all --attention--> all --Row scatters--> own
```

What fits, and what does not:

| operation | result |
|---|---|
| split, elementwise | split |
| split, softmax, argmax, norm, mean over the split dimension | wrong (E7104), unless what completes it follows |
| split, max or sum over the split dimension | own; all-reduce it (MAX, SUM) before it meets anything (E7130) |
| split, look-up | the index needs the rank's start (E7122), the result a mask and a sum |
| split, view with whole counts | wrong (E7105); whole, view with counts of one rank: wrong (E7121) |
| split + whole, split * whole | wrong where the widths are the same (E7104) |
| partial + partial, partial * number | partial |
| partial + whole, f(partial) for an f that is not linear | wrong (E7120): sum first |
| whole, raw weight cut on its outputs | split; its gradient needs the copy (W7129) |
| own tokens + all tokens, a mask or positions of the other length | wrong (E7713) |
| all tokens into a Column that gathers | wrong (E7711) |
| own tokens of two sequences, joined | wrong (E7717): join first, scatter then |
| own tokens through a weight without the mark | wrong (W7603) |

A view keeps count of where the split dimension goes: `view(s, b, heads // tp, d)` makes it dimension 2, `permute`,
`transpose` and `flatten` carry it along. A size that was divided by the TP size is one rank's (E7125, E7128). What
cannot be followed has no type, and nothing is said of it. Of an operand that is not followed a factor is taken for the
same on every rank; nothing is concluded from a summand.

Every operator is one row of `checkers/tpstate/operators.py`: what it does to the dimensions, whether it is linear, what
it runs over. `tests/tpstate/test_operators_hold.py` runs random programs of them on simulated ranks and holds what the
ranks have against what the check said. `onescience-check explain E7104` (or any other rule) shows a wrong and a right
example.
"""


def print_placements() -> None:
    """The page as it is, in the language of the reader."""
    print(placements(language()), end="")


def placements(name: str) -> str:
    """The page in a language."""
    return PLACEMENTS if name == "en" else (LOCALE / name / "placements.md").read_text("utf-8")
