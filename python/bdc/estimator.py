"""scikit-learn's habits."""
from .aggregation import aggregate


class BDC:
    """`fit(labels)`, then `targets_` and `annotators_`; labels: a Crowd, a path or a table.

    >>> table = {"image": ["a"] * 3, "annotator": ["x", "y", "z"], "label": ["cat"] * 3,
    ...          "x1": [0, 0, 1], "y1": [0, 1, 0], "x2": [10, 11, 10], "y2": [10, 10, 11]}
    >>> len(BDC().fit(table).targets_)
    1
    """

    def __init__(self, method="bdc", threads=0, **options):
        self.method, self.threads, self.options = method, threads, options

    def get_params(self, deep=True):
        return {"method": self.method, "threads": self.threads, **self.options}

    def set_params(self, **params):
        self.method = params.pop("method", self.method)
        self.threads = params.pop("threads", self.threads)
        self.options.update(params)
        return self

    def fit(self, labels, y=None, predictions=None, prior=None):
        self.targets_ = aggregate(labels, self.method, predictions, prior, self.threads, **self.options)
        self.annotators_ = self.targets_.annotators if self.targets_._posteriors is not None else None
        return self

    def fit_predict(self, labels, y=None, **given):
        """The consensus as a table."""
        return self.fit(labels, **given).targets_.to_table()

    def __repr__(self):
        return f"BDC({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"
