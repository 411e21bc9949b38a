import { Group, Kbd, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../../components/dialog.tsx';
import { hasSingleKeys, STUDIO_KEYS, SUBMIT_KEYS, setSingleKeys } from './shortcuts.ts';

/** Lists the keyboard shortcuts of the studio, with a switch for those without a modifier. */
export default function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('studio');
  const [isOn, setOn] = useState(hasSingleKeys);
  return (
    <Dialog title={t('shortcuts.title')} onClose={onClose}>
      <Stack gap="xs">
        <Shortcut keys={SUBMIT_KEYS} text={t('shortcuts.submit')} />
        <Shortcut keys="?" text={t('shortcuts.title')} />
        {Object.entries(STUDIO_KEYS).map(([key, name]) => (
          <Shortcut key={key} keys={key.toUpperCase()} text={t(`shortcuts.${name}`)} isOff={!isOn} />
        ))}
        <Switch
          mt="sm"
          label={t('shortcuts.single')}
          description={t('shortcuts.singleHint')}
          checked={isOn}
          onChange={({ currentTarget: { checked } }) => {
            setSingleKeys(checked);
            setOn(checked);
          }}
        />
      </Stack>
    </Dialog>
  );
}

interface ShortcutProps {
  readonly keys: string;
  readonly text: string;
  readonly isOff?: boolean;
}

const Shortcut = ({ keys, text, isOff = false }: ShortcutProps) => (
  <Group justify="space-between" wrap="nowrap">
    <Text size="sm" c={isOff ? 'dimmed' : undefined} td={isOff ? 'line-through' : undefined}>
      {text}
    </Text>
    <Kbd>{keys}</Kbd>
  </Group>
);
