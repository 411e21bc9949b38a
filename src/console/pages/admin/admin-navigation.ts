import {
  IconCreditCard,
  IconDeviceTvOld,
  IconFlask,
  IconGauge,
  IconHistory,
  IconLifebuoy,
  IconListDetails,
  IconPlugConnected,
  IconReceipt2,
  IconSpeakerphone,
  IconTags,
  IconTicket,
  IconUsers,
} from '@tabler/icons-react';
import type { NavigationItem } from '../../parts/navigation.tsx';

/** What administrators see below the rest of the menu. */
export const ADMIN_NAVIGATION: readonly NavigationItem[] = [
  { to: '/admin/overview', label: 'adminOverview', icon: IconGauge },
  { to: '/admin/channels', label: 'channels', icon: IconPlugConnected },
  { to: '/admin/models', label: 'models', icon: IconTags },
  { to: '/admin/users', label: 'users', icon: IconUsers },
  { to: '/admin/packages', label: 'adminPackages', icon: IconCreditCard },
  { to: '/admin/codes', label: 'codes', icon: IconTicket },
  { to: '/admin/tasks', label: 'tasks', icon: IconListDetails },
  { to: '/admin/ledger', label: 'ledger', icon: IconReceipt2 },
  { to: '/admin/tickets', label: 'adminTickets', icon: IconLifebuoy },
  { to: '/admin/beta-applications', label: 'adminBeta', icon: IconFlask },
  { to: '/admin/announcements', label: 'announcements', icon: IconSpeakerphone },
  { to: '/admin/audit', label: 'audit', icon: IconHistory },
  { to: '/admin/device-clients', label: 'deviceClients', icon: IconDeviceTvOld },
];
