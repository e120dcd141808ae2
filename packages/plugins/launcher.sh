#!/bin/sh
# Becomes the haltline of this account. If there is none, the agent works on, and the person reads it when a session begins.
for program in "$HOME/.local/share/haltline/bin/haltline" "$HOME/.local/bin/haltline" "$HOME/.cargo/bin/haltline" \
    /usr/local/bin/haltline /usr/bin/haltline; do
    [ ! -x "$program" ] || exec "$program" "$@"
done
if grep -q '"hook_event_name" *: *"SessionStart"'; then
    echo '{"systemMessage":"haltline: the plugin is installed, but the program is not, so nothing is watched. The guide docs/guides/install.md of haltline says how to install it."}'
fi
