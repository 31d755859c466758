from exchange import all_to_all


def attend(attention, q, k, v, group, split, gather):
    """Which dimensions these are is not seen."""
    q = all_to_all(q, split, gather, group)
    k = all_to_all(k, split, gather, group)
    v = all_to_all(v, split, gather, group)
    out = attention(q, k, v)
    return all_to_all(out, split, gather, group)


def transposed(attention, q, k, v, group):
    q = all_to_all(q, 2, 1, group)
    k = all_to_all(k, 2, 1, group)
    v = all_to_all(v, 2, 1, group)
    out = attention(q, k, v).transpose(1, 2)
    return all_to_all(out, 2, 1, group)
