import { Stack, Text } from '@mantine/core';
import {
  IconActivityHeartbeat,
  IconBell,
  IconBook2,
  IconChartBar,
  IconCreditCard,
  IconDeviceLaptop,
  IconDeviceTvOld,
  IconFiles,
  IconFlask,
  IconGauge,
  IconHistory,
  IconKey,
  IconLifebuoy,
  IconListDetails,
  IconListSearch,
  IconMail,
  IconMessages,
  IconMovie,
  IconPlugConnected,
  IconReceipt2,
  IconScale,
  IconSettings,
  IconShieldLock,
  IconSparkles,
  IconSpeakerphone,
  IconStack2,
  IconTags,
  IconTerminal2,
  IconTicket,
  IconUser,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import { Link, type LinkProps, useNavigate, useRouterState } from '@tanstack/react-router';
import { type ComponentType, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { readOrganization } from '../data/browser-storage.ts';
import { isAdmin, useSelf, useStatus } from '../data/self.ts';
import type app from '../strings/en/app.ts';
import { SegmentedControl } from './segmented-control.tsx';

/**
 * The main menu; administrators get a switch between their own account and the administration, preset by the current
 * page.
 */
export function Navigation() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  const { data: status } = useStatus();
  const menu = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // On a low screen, scrolls the entry of the current page into view. Runs after paint, because measuring before would
  // force an extra layout.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page or role marks another entry
  useEffect(() => {
    const scroll = (): void => menu.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(scroll);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [path, self?.role]);
  const mode = isAdmin(self?.role) && path.startsWith('/admin/') ? 'administration' : 'mine';
  return (
    <Stack gap="md" ref={menu}>
      {isAdmin(self?.role) ? (
        <SegmentedControl
          fullWidth
          size="xs"
          value={mode}
          onChange={(next) => void navigate({ to: next === 'administration' ? '/admin/overview' : '/studio' })}
          data={(['mine', 'administration'] as const).map((value) => ({ value, label: t(`sections.${value}`) }))}
        />
      ) : null}
      {(mode === 'administration' ? ADMIN_SECTIONS : USER_SECTIONS).map((section) => (
        <NavigationGroup key={section.title} {...section} />
      ))}
      <div>
        <a href="/docs" target="_blank" rel="noopener" className="menu-link">
          <IconBook2 size={18} />
          {t('pages.apiGuide')}
        </a>
        {status?.status_page === true ? (
          <a href="/status" target="_blank" rel="noopener" className="menu-link">
            <IconActivityHeartbeat size={18} />
            {t('pages.serviceStatus')}
          </a>
        ) : null}
      </div>
    </Stack>
  );
}

function NavigationGroup({ title, items }: NavigationSection) {
  const { t } = useTranslation();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const { data: self } = useSelf();
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600} px="sm" mb={4}>
        {t(`sections.${title}`)}
      </Text>
      {items
        .filter(({ rootOnly }) => rootOnly !== true || self?.role === 'root')
        .filter(({ isPersonal }) => isPersonal !== true || readOrganization() === undefined)
        .map(({ to, label, icon: Icon }) => {
          const active = path === to || path.startsWith(`${to}/`);
          return (
            <Link key={to} to={to} className="menu-link" aria-current={active ? 'page' : undefined}>
              <Icon size={18} />
              {t(`pages.${label}`)}
            </Link>
          );
        })}
    </div>
  );
}

/** A menu entry; `label` is a key of `pages` in the app's texts. */
interface NavigationItem {
  readonly to: NonNullable<LinkProps['to']>;
  readonly label: keyof typeof app.pages;
  readonly icon: ComponentType<{ size?: number | string }>;
  /** Only root can use the page. */
  readonly rootOnly?: boolean;
  /** The page concerns the person and is hidden while working for an organization. */
  readonly isPersonal?: boolean;
}
interface NavigationSection {
  readonly title: keyof typeof app.sections;
  readonly items: readonly NavigationItem[];
}

/** Menu of an account. */
export const USER_SECTIONS: readonly NavigationSection[] = [
  {
    title: 'create',
    items: [
      { to: '/studio', label: 'studio', icon: IconSparkles },
      { to: '/playground', label: 'playground', icon: IconMessages },
      { to: '/videos', label: 'videos', icon: IconMovie },
      { to: '/batches', label: 'batches', icon: IconStack2 },
      { to: '/files', label: 'files', icon: IconFiles },
    ],
  },
  {
    title: 'account',
    items: [
      { to: '/account/overview', label: 'overview', icon: IconChartBar },
      { to: '/account/requests', label: 'requests', icon: IconListSearch },
      { to: '/account/tokens', label: 'apiKeys', icon: IconKey },
      { to: '/account/webhooks', label: 'webhooks', icon: IconWebhook },
      { to: '/account/organizations', label: 'organizations', icon: IconUsers },
      { to: '/account/devices', label: 'devices', icon: IconDeviceLaptop, isPersonal: true },
      { to: '/account/security', label: 'security', icon: IconShieldLock, isPersonal: true },
      { to: '/account/profile', label: 'profile', icon: IconUser, isPersonal: true },
      { to: '/packages', label: 'packages', icon: IconCreditCard },
      { to: '/mailbox', label: 'mailbox', icon: IconMail, isPersonal: true },
    ],
  },
  {
    title: 'messages',
    items: [
      { to: '/notifications', label: 'notifications', icon: IconBell },
      { to: '/tickets', label: 'tickets', icon: IconLifebuoy },
      { to: '/beta-applications', label: 'beta', icon: IconFlask },
    ],
  },
];

/** Menu of the administration. */
export const ADMIN_SECTIONS: readonly NavigationSection[] = [
  {
    title: 'service',
    items: [
      { to: '/admin/overview', label: 'adminOverview', icon: IconGauge },
      { to: '/admin/tasks', label: 'allVideos', icon: IconListDetails },
      { to: '/admin/requests', label: 'requests', icon: IconListSearch },
      { to: '/admin/channels', label: 'channels', icon: IconPlugConnected },
      { to: '/admin/models', label: 'models', icon: IconTags },
    ],
  },
  {
    title: 'customers',
    items: [
      { to: '/admin/users', label: 'users', icon: IconUsers },
      { to: '/admin/organizations', label: 'organizations', icon: IconUsersGroup },
      { to: '/admin/tickets', label: 'adminTickets', icon: IconLifebuoy },
      { to: '/admin/announcements', label: 'announcements', icon: IconSpeakerphone },
      { to: '/admin/beta-applications', label: 'adminBeta', icon: IconFlask },
    ],
  },
  {
    title: 'plansAndCredits',
    items: [
      { to: '/admin/costs', label: 'costs', icon: IconChartBar },
      { to: '/admin/packages', label: 'adminPackages', icon: IconCreditCard },
      { to: '/admin/codes', label: 'codes', icon: IconTicket },
      { to: '/admin/ledger', label: 'ledger', icon: IconReceipt2 },
      { to: '/admin/reconciliation', label: 'reconciliation', icon: IconScale },
    ],
  },
  {
    title: 'records',
    items: [
      { to: '/admin/settings', label: 'settings', icon: IconSettings, rootOnly: true },
      { to: '/admin/audit', label: 'audit', icon: IconHistory },
      { to: '/admin/device-clients', label: 'deviceClients', icon: IconDeviceTvOld },
      { to: '/admin/claude-code', label: 'claudeCode', icon: IconTerminal2 },
    ],
  },
];

/** Admin pages without a menu entry, opened from other pages. */
export const OTHER_ADMIN_SECTIONS: readonly NavigationSection[] = [
  { title: 'records', items: [{ to: '/admin/logins', label: 'logins', icon: IconHistory }] },
];
