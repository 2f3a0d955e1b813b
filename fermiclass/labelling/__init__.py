"""From a catalogue to a label table: train, label, class priors, out-of-distribution scores, model archive."""
