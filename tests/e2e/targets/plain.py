# For interpreters of any age: sbump refuses them, and they must not notice.
from protocol import serve


def work(n):
    return sum(i * i for i in range(n))


serve({"work": work})
