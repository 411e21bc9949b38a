import { Menu, useMantineColorScheme } from '@mantine/core';
import type { ReactElement } from 'react';
import { useTranslation } from 'react-i18next';
import { useOpenedOnMount } from './on-demand.tsx';
import { SCHEME_ICONS } from './scheme-icons.ts';

export default function ThemeMenu({ target }: { readonly target: ReactElement }) {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end">
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        {(['light', 'dark', 'auto'] as const).map((scheme) => {
          const Icon = SCHEME_ICONS[scheme];
          return (
            <Menu.Item
              key={scheme}
              leftSection={<Icon size={16} />}
              fw={scheme === colorScheme ? 650 : 400}
              onClick={() => setColorScheme(scheme)}
            >
              {t(`scheme.${scheme}`)}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
