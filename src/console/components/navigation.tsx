import { NavLink, Stack, Text } from '@mantine/core';
import { Link, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isAdmin, useSelf } from '../data/query-client.ts';
import { ADMIN_SECTION, type NavigationSection, USER_SECTIONS } from './navigation-sections.ts';

export function Navigation() {
  const { data: self } = useSelf();
  const menu = useRef<HTMLDivElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // An administrator's menu is longer than most screens: the entry of the current page is scrolled into view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page or role marks another entry
  useEffect(() => {
    menu.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [path, self?.role]);
  const sections = isAdmin(self?.role) ? [...USER_SECTIONS, ADMIN_SECTION] : USER_SECTIONS;
  return (
    <Stack gap="md" ref={menu}>
      {sections.map((section) => (
        <NavigationGroup key={section.title} {...section} />
      ))}
    </Stack>
  );
}

function NavigationGroup({ title, items }: NavigationSection) {
  const { t } = useTranslation();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600} px="sm" mb={4}>
        {t(`sections.${title}`)}
      </Text>
      {items.map(({ to, label, icon: Icon }) => {
        const active = path === to || path.startsWith(`${to}/`);
        return (
          <NavLink
            key={to}
            renderRoot={(props) => <Link to={to} {...props} />}
            label={t(`pages.${label}`)}
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
