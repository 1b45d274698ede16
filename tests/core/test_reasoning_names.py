"""Which models are given no method of work, since they reason by themselves: known by their names."""

from __future__ import annotations

import pytest

from handrail.core.conversation.prompt import reasons_by_itself

REASON = """
    openai-responses:gpt-5 openai:gpt-5.1-codex openai:o3 openai:o4-mini openai-chat:openai/gpt-oss-120b
    ollama:gpt-oss:20b anthropic:claude-sonnet-4-5 anthropic:claude-opus-4-1
    openai-chat:anthropic/claude-opus-4 ollama:qwen3 ollama:qwen3:8b openai-chat:qwen/qwen3-235b-a22b
    openai-chat:Qwen/Qwen3-32B ollama:qwq openai-chat:qwen/qwen3-235b-a22b-thinking-2507
    openai-chat:Qwen_Qwen3-8B-GGUF openai-chat:kimi-k2-thinking openai-chat:moonshotai/kimi-k2-thinking
    ollama:kimi-k2-thinking:cloud openai-chat:moonshotai/Kimi-K2-Thinking openai-chat:glm-4.6
    openai-chat:z-ai/glm-4.6:exacto openai-chat:zai-org/GLM-4.6-FP8 ollama:glm-4.6:cloud
    openai-chat:glm-4.5-air openai-chat:minimax-m2 openai-chat:minimax/minimax-m2:free
    openai-chat:MiniMaxAI/MiniMax-M2 ollama:minimax-m2:cloud ollama:deepseek-r1:14b
    openai-chat:deepseek-reasoner openai-chat:DeepSeek-R1-Distill-Qwen-7B openai-chat:gemini-2.5-pro
    openai-chat:grok-4 ollama:magistral ollama:phi4-reasoning openai-chat:grok-4-fast-reasoning editor:gpt-5
"""
DO_NOT = """
    paste openai:gpt-4o openai:gpt-4.1-mini openai:gpt-5-chat-latest ollama:llama3.3
    ollama:qwen2.5-coder:32b ollama:qwen3-coder:30b openai-chat:Qwen/Qwen3-Coder-480B-A35B-Instruct
    openai-chat:qwen3-max openai-chat:qwen/qwen3-30b-a3b-instruct-2507 openai-chat:kimi-k2
    openai-chat:moonshotai/kimi-k2-0905 openai-chat:glm-4-9b-chat openai-chat:glm-4-32b-0414
    openai-chat:minimax-text-01 openai-chat:deepseek-chat openai-chat:grok-4-fast-non-reasoning
    ollama:mistral-small ollama:devstral ollama:phi4 editor anthropic:claude-3-5-sonnet-latest
    openai-chat:rethinking
"""


@pytest.mark.parametrize("model", REASON.split())
def test_it_reasons(model: str) -> None:
    assert reasons_by_itself(model)


@pytest.mark.parametrize("model", DO_NOT.split())
def test_it_does_not(model: str) -> None:
    assert not reasons_by_itself(model)
