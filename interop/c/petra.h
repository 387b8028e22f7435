// PETRA for programs on quiche's C API.
//
//     petra_register();
//     if (quiche_config_set_cc_algorithm_name(config, "petra:alpha=0.8") != 0) { ... }

#ifndef PETRA_H
#define PETRA_H

#ifdef __cplusplus
extern "C" {
#endif

// Makes the controllers petra, petra-thesis and westwood known to quiche, for
// quiche_config_set_cc_algorithm_name(), with options behind a colon if there are any.
// To be called before it; once is enough, and more often does no harm.
void petra_register(void);

#ifdef __cplusplus
}
#endif

#endif
