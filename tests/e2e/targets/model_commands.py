"""What a test can ask of a process with a model, and the models that it has."""
COMMANDS = {}
models = {}


def command(function):
    """Makes it one, by its name."""
    COMMANDS[function.__name__] = function
    return function


def tensor(*shape):
    import torch
    return torch.zeros(*shape)


def tokens(*shape):
    import torch
    return torch.zeros(*(shape or (2, 5)), **({"dtype": torch.long} if hasattr(torch, "long") else {}))
