import { Group, Kbd, Stack, Switch, Text } from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from './dialog.tsx';
import { hasSingleKeys, type Shortcut, setSingleKeys, shortcutsOf } from './shortcut-keys.ts';

/** Lists the keyboard shortcuts of the current page, with the switch for those without a modifier. */
export default function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('keyboard');
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [isOn, setOn] = useState(hasSingleKeys);
  return (
    <Dialog title={t('shortcuts.title')} onClose={onClose}>
      <Stack gap="xs">
        {shortcutsOf(path).map((shortcut) => (
          <ShortcutLine key={shortcut.name} shortcut={shortcut} isOff={shortcut.isSingle === true && !isOn} />
        ))}
        <SingleKeysSwitch isOn={isOn} onChange={setOn} />
      </Stack>
    </Dialog>
  );
}

interface SingleKeysSwitchProps {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** Switches the shortcuts without a modifier on or off. */
export function SingleKeysSwitch({ isOn, onChange }: SingleKeysSwitchProps) {
  const { t } = useTranslation('keyboard');
  return (
    <Switch
      mt="sm"
      label={t('shortcuts.single')}
      description={t('shortcuts.singleHint')}
      checked={isOn}
      onChange={({ currentTarget: { checked } }) => {
        setSingleKeys(checked);
        onChange(checked);
      }}
    />
  );
}

interface ShortcutLineProps {
  readonly shortcut: Shortcut;
  readonly isOff: boolean;
}

function ShortcutLine({ shortcut: { keys, name }, isOff }: ShortcutLineProps) {
  const { t } = useTranslation('keyboard');
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" c={isOff ? 'dimmed' : undefined} td={isOff ? 'line-through' : undefined}>
        {t(`shortcuts.${name}`)}
      </Text>
      <Kbd>{keys}</Kbd>
    </Group>
  );
}
