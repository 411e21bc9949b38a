import {
  ActionIcon,
  Anchor,
  Box,
  Burger,
  Group,
  Indicator,
  Kbd,
  Loader,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { IconBell, IconHelpCircle, IconSearch } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NO_PACKAGE } from '../../contract/plans.ts';
import type { StreamEvent } from '../../sdk/notifications.ts';
import { fetchStatus } from '../data/api-client.ts';
import {
  NOTIFICATIONS_KEY,
  type NotificationItemData,
  subscribeNotifications,
  unreadCountQuery,
} from '../data/notifications.ts';
import { PLAN_KEY, selfQuery, useSelf, useSiteName } from '../data/self.ts';
import { CreditAmount } from './credit-amount.tsx';
import { isUnreachable } from './error-alert.tsx';
import { LazyDropdownButton } from './lazy-dropdown-button.tsx';
import { Navigation } from './navigation.tsx';
import { PageLoadingIndicator } from './page.tsx';
import { PlanAllowance } from './plan-allowance.tsx';
import { onShowShortcuts, showShortcuts, single, withMod } from './shortcut-keys.ts';

/**
 * Class that the scroll lock under dialogs (react-remove-scroll) gives to elements that must not shift when the scroll
 * bar disappears.
 */
const SCROLLBAR_SIDE = 'right-scroll-bar-position';

/** Header and menu around every page of a signed-in user. */
export function AppLayout({ children = <Outlet /> }: { readonly children?: ReactNode }) {
  const { t } = useTranslation();
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu of a phone closes whenever the page changes
  useEffect(close, [path]);
  useEffect(keepFocus, []);
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
          <HelpButton />
          <AccountMenuButton />
        </Group>
      </header>
      <nav className="app-menu" data-opened={opened || undefined} aria-label={t('menu')}>
        <div className="navigation">
          <Navigation />
        </div>
      </nav>
      <ServiceUnreachableNotice />
      <ShortcutList />
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<PageLoadingIndicator />}>{children}</Suspense>
      </main>
    </>
  );
}

function Brand() {
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

const HelpDropdown = lazy(async () => ({ default: (await import('./header-menus.tsx')).HelpMenu }));

function HelpButton() {
  const { t } = useTranslation();
  return (
    <LazyDropdownButton
      dropdown={(button) => <HelpDropdown target={button} />}
      popup="menu"
      button={
        <ActionIcon data-hint={t('help.title')} size="lg" aria-label={t('help.title')}>
          <IconHelpCircle size={19} />
        </ActionIcon>
      }
    />
  );
}

const Dropdown = lazy(async () => ({ default: (await import('./header-menus.tsx')).AccountMenuDropdown }));

function AccountMenuButton() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  const name = self?.display_name || self?.username || '';
  return (
    <LazyDropdownButton
      dropdown={(button) => <Dropdown target={button} />}
      popup="menu"
      button={
        <UnstyledButton p={4} style={{ borderRadius: 8 }}>
          <VisuallyHidden>{t('accountMenu')}</VisuallyHidden>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" fw={600} miw={72} ta="right" visibleFrom="xs">
              {self === undefined ? (
                ''
              ) : (
                <SpendableAmount packageCode={self.current_package_code} wallet={self.quota} />
              )}
            </Text>
            <span className="initial">{[...name.toUpperCase()][0]}</span>
          </Group>
        </UnstyledButton>
      }
    />
  );
}

/** What calls are paid from. */
function SpendableAmount({ packageCode, wallet }: { readonly packageCode: string; readonly wallet: number }) {
  return packageCode === NO_PACKAGE ? <CreditAmount value={wallet} /> : <PlanAllowance wallet={wallet} />;
}

const RETRY_MS = 2_000;

/**
 * Shows a notice while the service is unreachable. The page and its input are kept, and failed queries are refetched
 * once the service responds.
 */
function ServiceUnreachableNotice() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const notice = (event: {
      readonly type: string;
      readonly action?: { readonly type: string; readonly error?: unknown };
    }) => {
      if (event.type === 'updated' && event.action?.type === 'error' && isUnreachable(event.action.error))
        setLost(true);
    };
    const ends = [queries.getQueryCache().subscribe(notice), queries.getMutationCache().subscribe(notice)];
    return () => {
      for (const end of ends) end();
    };
  }, [queries]);
  useEffect(() => {
    if (!isLost) return;
    const probe = async (): Promise<void> => {
      await fetchStatus();
      setLost(false);
      await queries.invalidateQueries({ predicate: ({ state }) => state.status === 'error' });
    };
    const timer = setInterval(() => void probe().catch(() => undefined), RETRY_MS);
    return () => clearInterval(timer);
  }, [isLost, queries]);
  if (!isLost) return null;
  return (
    <div className="connection-lost" role="status">
      <Group gap="xs" wrap="nowrap">
        <Loader size="xs" color="gray" />
        <Text size="sm" fw={600}>
          {t('reconnecting')}
        </Text>
      </Group>
    </div>
  );
}

const ShortcutsDialog = lazy(() => import('./shortcuts-dialog.tsx'));

/** The list of shortcuts, opened by "?" on every page. */
function ShortcutList() {
  const [opened, setOpened] = useState(false);
  // With or without Shift, depending on the keyboard.
  useHotkeys(['?', 'shift+?'].map((key) => [key, single(showShortcuts)] as const));
  useEffect(() => onShowShortcuts(() => setOpened(true)), []);
  if (!opened) return null;
  return (
    <Suspense>
      <ShortcutsDialog onClose={() => setOpened(false)} />
    </Suspense>
  );
}

/** Lazy: code and texts of the palette load when it first opens. */
const CommandPalette = lazy(() => import('./command-palette.tsx'));

/** Opens the palette; Ctrl-K or Command-K does the same on every page, inside fields too. */
function CommandPaletteButton() {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  useHotkeys([['mod+K', () => setOpened((value) => !value)]], []);
  return (
    <>
      <UnstyledButton className="palette-button" visibleFrom="sm" onClick={() => setOpened(true)}>
        <Group gap="xs" wrap="nowrap">
          <IconSearch size={16} />
          <Text size="sm">{t('search')}</Text>
          <Kbd size="xs">{withMod('K')}</Kbd>
        </Group>
      </UnstyledButton>
      <ActionIcon hiddenFrom="sm" size="lg" aria-label={t('search')} onClick={() => setOpened(true)}>
        <IconSearch size={20} />
      </ActionIcon>
      <Suspense>{opened ? <CommandPalette onClose={() => setOpened(false)} /> : null}</Suspense>
    </>
  );
}

const BellDropdown = lazy(() => import('./notification-dropdown.tsx'));

const MAX_COUNT = 9;

/** Live unread count, shown on every page; a click opens the latest notifications. */
function NotificationBell() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  useRefetchOnNotification(self?.id);
  const { data: unread = 0 } = useQuery(unreadCountQuery);
  useUnreadCountInTitle(unread);
  const label = unread === 0 ? t('notifications') : t('unread', { count: unread });
  return (
    <Indicator
      disabled={unread === 0}
      label={unread > MAX_COUNT ? `${MAX_COUNT}+` : unread}
      size={17}
      offset={7}
      color="accent"
    >
      <LazyDropdownButton
        dropdown={(button) => <BellDropdown target={button} />}
        popup="dialog"
        button={
          <ActionIcon data-hint={label} size="lg" aria-label={label}>
            <IconBell size={19} />
          </ActionIcon>
        }
      />
    </Indicator>
  );
}

/** Shows `(2) Studio · Reelgate` as the title, so that a background tab shows unread notifications too. */
function useUnreadCountInTitle(unread: number): void {
  useEffect(() => {
    const write = (): void => {
      const bare = document.title.replace(/^\(\d+\+?\) /, '');
      const wanted = unread === 0 ? bare : `(${unread > MAX_COUNT ? `${MAX_COUNT}+` : unread}) ${bare}`;
      if (document.title !== wanted) document.title = wanted;
    };
    write();
    const watch = new MutationObserver(write);
    const title = document.querySelector('title');
    if (title !== null) watch.observe(title, { childList: true });
    return () => watch.disconnect();
  }, [unread]);
}

/** Queries to refetch for each kind of notification, besides the notifications themselves. */
const STALE_QUERIES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  system: [['videos', 'list'], ['devices'], ['sessions'], PLAN_KEY, selfQuery.queryKey],
  ticket_reply: [['tickets']],
  ticket_status: [['tickets']],
  beta_result: [['beta']],
  admin_ticket: [['admin']],
  admin_beta: [['admin']],
};

/** Fetched again after a gap: nothing but notifications refreshes them while they are on the screen. */
const STALE_AFTER_GAP = ['ticket_reply', 'beta_result'].flatMap((type) => STALE_QUERIES[type] ?? []);

/** Refetches on-screen data that a notification has made stale. */
function useRefetchOnNotification(userId: number | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (userId === undefined) return;
    const unmounted = new AbortController();
    const invalidate = (key: readonly string[]): void => void queries.invalidateQueries({ queryKey: key });
    const onEvent = ({ kind, data }: StreamEvent): void => {
      // The unread count comes with the event after a gap.
      if (kind === 'gap') for (const key of [[...NOTIFICATIONS_KEY, 'list'], ...STALE_AFTER_GAP]) invalidate(key);
      else if (kind === 'unread') {
        queries.setQueryData(unreadCountQuery.queryKey, (JSON.parse(data) as { unread_count: number }).unread_count);
        invalidate([...NOTIFICATIONS_KEY, 'list']);
      } else {
        invalidate([...NOTIFICATIONS_KEY, 'list']);
        for (const key of STALE_QUERIES[(JSON.parse(data) as NotificationItemData).type] ?? []) invalidate(key);
      }
    };
    subscribeNotifications(userId, onEvent, unmounted.signal).catch(() => undefined);
    return () => unmounted.abort();
  }, [userId, queries]);
}

/**
 * Keeps the keyboard's place when a focused button is disabled while its action runs: browsers then move the focus to
 * the body. Afterwards the button has it again, or its form if there is nothing left to submit.
 *
 * @returns stops it
 */
function keepFocus(): () => void {
  let lost: HTMLButtonElement | undefined;
  const observer = new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (!(target instanceof HTMLButtonElement)) continue;
      // Runs before the browser moves the focus.
      if (target.disabled && target === document.activeElement) lost = target;
      else if (target === lost && !('loading' in target.dataset)) {
        lost = undefined;
        if (document.activeElement === document.body) focusAgain(target);
      }
    }
  });
  observer.observe(document.body, { subtree: true, attributeFilter: ['disabled', 'data-loading'] });
  return () => observer.disconnect();
}

function focusAgain(button: HTMLButtonElement): void {
  const place = button.disabled ? button.closest('form') : button;
  if (place instanceof HTMLFormElement) place.tabIndex = -1;
  place?.focus({ preventScroll: true });
}
