import { Anchor, Box, Burger, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { type ReactNode, Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useSiteName } from '../data/signed-in-user-and-site-queries.ts';
import { AccountMenuButton } from './account-menu-button.tsx';
import { LanguageAndThemeMenus } from './language-and-theme-menus.tsx';
import { Navigation } from './navigation.tsx';
import { NotificationBell } from './notification-bell.tsx';
import { PageLoadingIndicator } from './page-loading-indicator.tsx';
import { CommandPaletteButton } from './palette/command-palette-button.tsx';
import { ServiceUnreachableNotice } from './service-unreachable-notice.tsx';

/** What the scroll lock under dialogs keeps in its place when it takes the scroll bar away (react-remove-scroll). */
const SCROLLBAR_SIDE = 'right-scroll-bar-position';

/** Header and menu around every page of a signed-in user. */
export function AppLayout({ children = <Outlet /> }: { readonly children?: ReactNode }) {
  const { t } = useTranslation();
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of a phone closes whenever the page changes
  useEffect(close, [path]);
  return (
    <>
      <Anchor href="#main" className="skip-link">
        {t('skipToContent')}
      </Anchor>
      <header className={`app-header ${SCROLLBAR_SIDE}`}>
        <Group gap="xs" wrap="nowrap">
          <Burger
            opened={opened}
            onClick={toggle}
            hiddenFrom="md"
            size="sm"
            aria-label={t('menu')}
            aria-expanded={opened}
          />
          <Brand />
        </Group>
        <Group gap={4} wrap="nowrap">
          <CommandPaletteButton />
          <NotificationBell />
          <LanguageAndThemeMenus />
          <AccountMenuButton />
        </Group>
      </header>
      <nav className="app-menu" data-opened={opened || undefined} aria-label={t('menu')}>
        <div className="navigation">
          <Navigation />
        </div>
      </nav>
      <ServiceUnreachableNotice />
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<PageLoadingIndicator />}>{children}</Suspense>
      </main>
    </>
  );
}

export function Brand() {
  const siteName = useSiteName();
  return (
    <Box
      aria-label={siteName}
      renderRoot={(props) => <Link to="/studio" {...props} />}
      style={{ textDecoration: 'none', color: 'inherit' }}
    >
      <Group gap={10} wrap="nowrap">
        <img src="/logo" width={28} height={28} alt="" />
        <Text fw={700} fz="lg" lts="-0.02em" visibleFrom="xs">
          {siteName}
        </Text>
      </Group>
    </Box>
  );
}
