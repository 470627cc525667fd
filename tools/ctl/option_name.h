/*
 * option_name.h - how sandboxctl calls what a provider is asked for, where mounts call it otherwise.
 */
#pragma once

/* For provider_config.option_name. */
const char *ctl_option_name(unsigned option);
