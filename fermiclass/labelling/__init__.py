"""From a catalogue to a label table: train, label, class priors, census, model folder."""
