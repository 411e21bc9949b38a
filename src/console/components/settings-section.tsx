import { Box, Group, Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SettingsSectionProps {
  readonly title: string;
  readonly subtitle?: ReactNode;
  /** A state or an action beside the title. */
  readonly aside?: ReactNode;
  readonly children?: ReactNode;
}

/** One matter of a page of settings. */
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
