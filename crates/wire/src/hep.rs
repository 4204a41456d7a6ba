//! HEPv3 (Homer Encapsulation Protocol).
