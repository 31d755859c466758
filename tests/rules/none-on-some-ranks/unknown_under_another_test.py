"""What is None on some stages is used under a test on something else, which may hold where it is there."""


class Model:
    def run(self, ids, hidden):
        if self.pre_process:
            entered = self.embedding(ids)
        else:
            entered = None
        if hidden is None:
            out = self.encoder(entered)
        else:
            out = hidden.to(entered.dtype)
        return out
