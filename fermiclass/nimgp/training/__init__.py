"""The training loop, its minibatches, natural gradients and checkpoints."""
