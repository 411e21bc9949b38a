import { Box, Group, Paper, SimpleGrid, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** A titled card. */
export function Panel({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="section" miw={0}>
      <div style={{ display: 'flex', justifyContent: 'space-between', alignItems: 'center', gap: 8, marginBottom: 14 }}>
        <Title order={2}>{title}</Title>
        {actions}
      </div>
      {children}
    </Paper>
  );
}

interface SettingsSectionProps {
  readonly title: string;
  readonly subtitle?: ReactNode;
  /** A badge or an action next to the title. */
  readonly aside?: ReactNode;
  readonly children?: ReactNode;
}

/** One section of a settings page. */
export function SettingsSection({ title, subtitle, aside, children }: SettingsSectionProps) {
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="section" aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box flex={1} miw={220}>
          <Title order={2}>{title}</Title>
          {subtitle === undefined ? null : (
            <Text size="sm" c="dimmed" mt={2}>
              {subtitle}
            </Text>
          )}
        </Box>
        {aside}
      </Group>
      {children === undefined || children === null ? null : <Box mt="md">{children}</Box>}
    </Paper>
  );
}

/** Labels and values in two columns. */
export function DescriptionList({ facts: items }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 4 }} spacing="md" verticalSpacing="sm">
      {items.map(([name, value]) => (
        <div key={name} style={{ minWidth: 0 }}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}
