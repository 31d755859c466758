from exchange import all_to_all


def experts(tokens, scores, run, sent, got, group):
    own = all_to_all(tokens, sent, got, group)
    weights = all_to_all(scores, sent, got, group)
    done = run(own) * weights
    back = all_to_all(done, got, sent, group)
    return back
