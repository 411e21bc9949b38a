import { Menu, Text, useMantineColorScheme } from '@mantine/core';
import {
  IconActivityHeartbeat,
  IconBook2,
  IconCheck,
  IconKeyboard,
  IconLifebuoy,
  IconLogout,
  IconShieldLock,
  IconUser,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useTranslation } from 'react-i18next';
import { logout } from '../../contract/accounts.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { organizationsQuery } from '../data/account-queries.ts';
import { callApi, queryClient } from '../data/api-client.ts';
import { clearStoredDrafts, clearUserId, enterOrganization, readOrganization } from '../data/browser-storage.ts';
import { useSelf, useStatus } from '../data/self.ts';
import { COLOR_SCHEME_ICONS } from '../mantine-theme.ts';
import { changeLanguage, currentLanguage } from '../strings/language.ts';
import { LANGUAGES, type Language } from '../strings/preferred-language.ts';
import { CreditAmount } from './credit-amount.tsx';
import { toErrorMessage } from './error-alert.tsx';
import { useOpenedOnMount } from './lazy-dropdown-button.tsx';
import { showShortcuts } from './shortcut-keys.ts';
import { useToasts } from './toasts.tsx';

/** Menus of the header: inside its landmark, and without Mantine's focusable placeholder, which no menu may contain. */
const IN_HEADER = { position: 'bottom-end', withinPortal: false, withInitialFocusPlaceholder: false } as const;

/** The own account and the organizations, to choose which one to work for. */
function ContextItems() {
  const { t } = useTranslation(['organizations', 'app']);
  const { data: organizations = [] } = useQuery(organizationsQuery);
  const current = readOrganization();
  if (organizations.length === 0) return null;
  const contexts = [{ slug: undefined, name: t('ownAccount') }, ...organizations];
  return (
    <>
      <Menu.Divider />
      {contexts.map(({ slug, name }) => (
        <Menu.Item
          key={slug ?? ''}
          aria-current={slug === current ? 'true' : undefined}
          rightSection={slug === current ? <IconCheck size={16} /> : null}
          onClick={() => enterOrganization(slug)}
        >
          {name}
        </Menu.Item>
      ))}
    </>
  );
}

/** Signs this browser out and forgets what it stored of the account. */
export function useSignOut(): () => Promise<void> {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const toasts = useToasts();
  return async () => {
    const failure = await callApi(logout, {}).then(
      () => undefined,
      (error: unknown) => error,
    );
    // The service did not end the session: it would last, for the next person at this browser too.
    if (failure !== undefined && !(failure instanceof ReelgateError && failure.status === 401)) {
      toasts.error(toErrorMessage(failure, t('unreachable')));
      return;
    }
    clearStoredDrafts();
    clearUserId();
    queryClient.clear();
    await navigate({ to: '/sign-in' });
  };
}

/** Shows the console in another language; texts of the service are requested again. */
export const switchLanguage = (language: Language): Promise<void> =>
  changeLanguage(language).then(() => queryClient.invalidateQueries());

/** Account menu: who is signed in, links to the account's pages, language, colour scheme and sign-out. */
export function AccountMenuDropdown({ target }: { readonly target: ReactElement }) {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  const signOut = useSignOut();
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Menu opened={opened} onChange={setOpened} {...IN_HEADER} width={240}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={600} c="var(--mantine-color-text)" truncate>
            {self?.display_name || self?.username}
          </Text>
          {self === undefined ? null : <CreditAmount value={self.quota} size="xs" />}
        </Menu.Label>
        <ContextItems />
        <Menu.Divider />
        <Menu.Item
          leftSection={<IconUser size={16} />}
          renderRoot={(props) => <Link to="/account/profile" {...props} />}
        >
          {t('pages.profile')}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconShieldLock size={16} />}
          renderRoot={(props) => <Link to="/account/security" {...props} />}
        >
          {t('pages.security')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('language')}</Menu.Label>
        <LanguageItems />
        <Menu.Divider />
        <Menu.Label>{t('appearance')}</Menu.Label>
        <ThemeItems />
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          {t('signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Help menu: the API guide, the shortcuts of the page, the state of the service, and people to ask. */
export function HelpMenu({ target }: { readonly target: ReactElement }) {
  const { t } = useTranslation();
  const { data: status } = useStatus();
  const [opened, setOpened] = useOpenedOnMount();
  const newTab = { component: 'a', target: '_blank', rel: 'noopener' } as const;
  return (
    <Menu opened={opened} onChange={setOpened} {...IN_HEADER}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Item {...newTab} href="/docs" leftSection={<IconBook2 size={16} />}>
          {t('pages.apiGuide')}
        </Menu.Item>
        <Menu.Item leftSection={<IconKeyboard size={16} />} onClick={showShortcuts}>
          {t('help.shortcuts')}
        </Menu.Item>
        {status?.status_page === true ? (
          <Menu.Item {...newTab} href="/status" leftSection={<IconActivityHeartbeat size={16} />}>
            {t('pages.serviceStatus')}
          </Menu.Item>
        ) : null}
        <Menu.Item
          leftSection={<IconLifebuoy size={16} />}
          renderRoot={(props) => <Link to="/tickets/new" {...props} />}
        >
          {t('help.support')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Menu of the languages of the console. */
export function LanguageMenu({ target }: { readonly target: ReactElement }) {
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Menu opened={opened} onChange={setOpened} {...IN_HEADER}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <LanguageItems />
      </Menu.Dropdown>
    </Menu>
  );
}

function LanguageItems() {
  return (Object.keys(LANGUAGES) as Language[]).map((language) => (
    <Menu.Item
      key={language}
      lang={language === 'en' ? 'en' : 'zh-CN'}
      fw={language === currentLanguage() ? 650 : 400}
      onClick={() => void switchLanguage(language)}
    >
      {LANGUAGES[language]}
    </Menu.Item>
  ));
}

/** Menu of the colour schemes. */
export function ThemeMenu({ target }: { readonly target: ReactElement }) {
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Menu opened={opened} onChange={setOpened} {...IN_HEADER}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        <ThemeItems />
      </Menu.Dropdown>
    </Menu>
  );
}

function ThemeItems() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (['light', 'dark', 'auto'] as const).map((scheme) => {
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
  });
}
