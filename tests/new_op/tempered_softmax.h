KN_API kn_tensor kn_tempered_softmax(kn_tensor x, int32_t axis, double temperature);
