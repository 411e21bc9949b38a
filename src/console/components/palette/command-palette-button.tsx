import { ActionIcon, Group, Kbd, Text, UnstyledButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';

/** Its code and texts come when it is first opened. */
const CommandPalette = lazy(() => import('./command-palette.tsx'));

/** Opens the palette, as Ctrl-K does on every page, from inside fields too. */
export function CommandPaletteButton() {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  useHotkeys([['mod+K', () => setOpened((value) => !value)]], []);
  return (
    <>
      <UnstyledButton className="palette-button" visibleFrom="sm" onClick={() => setOpened(true)}>
        <Group gap="xs" wrap="nowrap">
          <IconSearch size={16} />
          <Text size="sm">{t('search')}</Text>
          <Kbd size="xs">Ctrl K</Kbd>
        </Group>
      </UnstyledButton>
      <ActionIcon hiddenFrom="sm" size="lg" aria-label={t('search')} onClick={() => setOpened(true)}>
        <IconSearch size={20} />
      </ActionIcon>
      <Suspense>{opened ? <CommandPalette onClose={() => setOpened(false)} /> : null}</Suspense>
    </>
  );
}
