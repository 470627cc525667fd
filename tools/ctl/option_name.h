/*
 * option_name.h - sandboxctl's names of a provider's options, where they differ from mount options.
 */
#pragma once

/* For provider_config.option_name. */
const char *ctl_option_name(unsigned option);
