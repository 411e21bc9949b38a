import { Menu, useMantineColorScheme } from '@mantine/core';
import type { ReactElement } from 'react';
import { useTranslation } from 'react-i18next';
import { COLOR_SCHEME_ICONS } from '../mantine-theme.ts';
import { useOpenedOnMount } from './lazy-dropdown-button.tsx';

export default function ThemeMenu({ target }: { readonly target: ReactElement }) {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end">
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        {(['light', 'dark', 'auto'] as const).map((scheme) => {
          const Icon = COLOR_SCHEME_ICONS[scheme];
          return (
            <Menu.Item
              key={scheme}
              leftSection={<Icon size={16} />}
              fw={scheme === colorScheme ? 650 : 400}
              onClick={() => setColorScheme(scheme)}
            >
              {t(`colorScheme.${scheme}`)}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
