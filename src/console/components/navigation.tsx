import { Stack, Text } from '@mantine/core';
import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { isAdmin, useSelf } from '../data/signed-in-user-and-site-queries.ts';
import { ADMIN_SECTIONS, type NavigationSection, USER_SECTIONS } from './navigation-sections.ts';
import { SegmentedControl } from './segmented-control.tsx';

/** The menu; for administrators with a switch between their own account and the administration, by the page that is open. */
export function Navigation() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  const menu = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // A long menu on a low screen: the entry of the current page is scrolled into view, once the page is painted, since it would have
  // to be laid out before otherwise.
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
  const mode = path.startsWith('/admin/') ? 'administration' : 'mine';
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
