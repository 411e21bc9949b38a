import {
  IconBell,
  IconChartBar,
  IconCreditCard,
  IconDeviceLaptop,
  IconDeviceTvOld,
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
  IconTags,
  IconTicket,
  IconUser,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import type { LinkProps } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import type app from '../strings/en/app.ts';

/** One entry of the menu; `label` is a key of `pages` in the texts of the app. */
export interface NavigationItem {
  readonly to: NonNullable<LinkProps['to']>;
  readonly label: keyof typeof app.pages;
  readonly icon: ComponentType<{ size?: number | string }>;
  /** Only root can use the page. */
  readonly rootOnly?: boolean;
}
export interface NavigationSection {
  readonly title: keyof typeof app.sections;
  readonly items: readonly NavigationItem[];
}

export const USER_SECTIONS: readonly NavigationSection[] = [
  {
    title: 'create',
    items: [
      { to: '/studio', label: 'studio', icon: IconSparkles },
      { to: '/playground', label: 'playground', icon: IconMessages },
      { to: '/videos', label: 'videos', icon: IconMovie },
    ],
  },
  {
    title: 'account',
    items: [
      { to: '/account/overview', label: 'overview', icon: IconChartBar },
      { to: '/account/requests', label: 'requests', icon: IconListSearch },
      { to: '/account/tokens', label: 'apiKeys', icon: IconKey },
      { to: '/account/webhooks', label: 'webhooks', icon: IconWebhook },
      { to: '/account/devices', label: 'devices', icon: IconDeviceLaptop },
      { to: '/account/security', label: 'security', icon: IconShieldLock },
      { to: '/account/profile', label: 'profile', icon: IconUser },
      { to: '/packages', label: 'packages', icon: IconCreditCard },
      { to: '/mailbox', label: 'mailbox', icon: IconMail },
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

/** The menu of the administration. */
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
    ],
  },
];

/** Pages that are opened from another one and have no entry in the menu. */
export const OTHER_ADMIN_SECTIONS: readonly NavigationSection[] = [
  { title: 'records', items: [{ to: '/admin/logins', label: 'logins', icon: IconHistory }] },
];
