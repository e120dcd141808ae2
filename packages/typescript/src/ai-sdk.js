// Vercel AI SDK: generateText({ model, prompt, ...guard(session, { tools, stopWhen }) }).

import { guardTools } from "./tools.js";

/**
 * The settings of `generateText`, `streamText` or an agent with haltline in them: guarded tools, an end of the loop once
 * haltline stops it, and a report of what each step used.
 * @template {{tools: Record<string, any>, stopWhen?: any, onStepFinish?: (step: any) => unknown}} Settings
 * @param {import("./session.js").Session} session
 * @param {Settings} settings
 */
export function guard(session, settings) {
  session.resumeTurn();
  const others = settings.stopWhen === undefined ? [] : [settings.stopWhen].flat();
  return {
    ...settings,
    tools: guardTools(settings.tools, session),
    stopWhen: [...others, () => session.stopped !== null],
    onStepFinish: async (/** @type {any} */ step) => {
      const usage = step.usage ?? {};
      const cacheRead = usage.inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens ?? 0;
      const input = Math.max(0, (usage.inputTokens ?? 0) - cacheRead);
      if (input > 0 || cacheRead > 0 || usage.outputTokens > 0) {
        await session.model({ input, cacheRead, output: usage.outputTokens ?? 0 });
      }
      await settings.onStepFinish?.(step);
    },
  };
}
