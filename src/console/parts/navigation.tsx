import { NavLink, Stack, Text } from '@mantine/core';
import {
  IconBell,
  IconChartBar,
  IconCreditCard,
  IconDeviceLaptop,
  IconFlask,
  IconKey,
  IconLifebuoy,
  IconMail,
  IconMovie,
  IconShieldLock,
  IconSparkles,
  IconUser,
} from '@tabler/icons-react';
import { Link, useRouterState } from '@tanstack/react-router';
import { type ComponentType, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isAdmin, useSelf } from '../data/queries.ts';
import { ADMIN_NAVIGATION } from '../pages/admin/admin-navigation.ts';

/** One line of the menu; `label` is a key of the shell's texts. */
export interface NavigationItem {
  readonly to: string;
  readonly label: string;
  readonly icon: ComponentType<{ size?: number | string }>;
}
interface Section {
  readonly title: string;
  readonly items: readonly NavigationItem[];
}

const SECTIONS: readonly Section[] = [
  {
    title: 'create',
    items: [
      { to: '/studio', label: 'studio', icon: IconSparkles },
      { to: '/videos', label: 'videos', icon: IconMovie },
    ],
  },
  {
    title: 'account',
    items: [
      { to: '/account/overview', label: 'overview', icon: IconChartBar },
      { to: '/account/tokens', label: 'tokens', icon: IconKey },
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

export function Navigation() {
  const { data: self } = useSelf();
  const menu = useRef<HTMLDivElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // The menu of an administrator is longer than most screens: where one is must be seen in it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page or role marks another entry
  useEffect(() => {
    menu.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [path, self?.role]);
  const sections =
    isAdmin(self?.role) && ADMIN_NAVIGATION.length > 0
      ? [...SECTIONS, { title: 'administration', items: ADMIN_NAVIGATION }]
      : SECTIONS;
  return (
    <Stack gap="md" ref={menu}>
      {sections.map((section) => (
        <MenuSection key={section.title} {...section} />
      ))}
    </Stack>
  );
}

function MenuSection({ title, items }: Section) {
  const { t } = useTranslation();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600} px="sm" mb={4}>
        {t(`sections.${title}` as 'sections.create')}
      </Text>
      {items.map(({ to, label, icon: Icon }) => {
        const active = path === to || path.startsWith(`${to}/`);
        return (
          <NavLink
            key={to}
            renderRoot={(props) => <Link to={to} {...props} />}
            label={t(`pages.${label}` as 'pages.studio')}
            leftSection={<Icon size={18} />}
            active={active}
            aria-current={active ? 'page' : undefined}
            color="gray"
            variant="light"
            py={7}
            style={{ borderRadius: 8 }}
          />
        );
      })}
    </div>
  );
}
