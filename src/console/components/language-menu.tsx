import { Menu } from '@mantine/core';
import type { ReactElement } from 'react';
import { queryClient } from '../data/api-client.ts';
import { changeLanguage, currentLanguage } from '../strings/language.ts';
import { LANGUAGES, type Language } from '../strings/preferred-language.ts';
import { useOpenedOnMount } from './lazy-dropdown-button.tsx';

export default function LanguageMenu({ target }: { readonly target: ReactElement }) {
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end">
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        {(Object.keys(LANGUAGES) as Language[]).map((language) => (
          <Menu.Item
            key={language}
            lang={language === 'en' ? 'en' : 'zh-CN'}
            fw={language === currentLanguage() ? 650 : 400}
            onClick={() => void changeLanguage(language).then(() => queryClient.invalidateQueries())}
          >
            {LANGUAGES[language]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
