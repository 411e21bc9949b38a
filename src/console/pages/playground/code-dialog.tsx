import { Code, Modal, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from '../../components/copy-button.tsx';

interface CodeDialogProps {
  readonly samples: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

/** Exactly this call as a program in several languages. */
export function CodeDialog({ samples, onClose }: CodeDialogProps) {
  const { t } = useTranslation(['playground', 'app']);
  return (
    <Modal opened onClose={onClose} title={t('code')} size="lg" closeButtonProps={{ 'aria-label': t('app:close') }}>
      <Text size="sm" c="dimmed" mb="sm">
        {t('codeHint')}
      </Text>
      <Tabs defaultValue={Object.keys(samples)[0] ?? null}>
        <Tabs.List mb="sm">
          {Object.keys(samples).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(samples).map(([name, text]) => (
          <Tabs.Panel key={name} value={name} pos="relative">
            <Code block mah={420} pr={44} tabIndex={0} style={{ overflow: 'auto' }}>
              {text}
            </Code>
            <div style={{ position: 'absolute', top: 6, right: 6 }}>
              <CopyIconButton text={text} />
            </div>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Modal>
  );
}
