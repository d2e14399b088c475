package io.firstcome.spring;

import io.firstcome.client.AlreadyWon;
import io.firstcome.client.ClaimOutcome;
import io.firstcome.client.Confirmed;
import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.Held;
import io.firstcome.client.HoldOutcome;
import io.firstcome.client.HoldRequest;
import io.firstcome.client.Pick;
import io.firstcome.client.Won;
import io.firstcome.client.WonPlace;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.Flow;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParserContext;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** Claims or holds before a method with {@link FirstCome} runs. */
final class FirstComeInterceptor implements MethodInterceptor {
    private final SpelExpressionParser parser = new SpelExpressionParser();
    private final ParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    private final Map<String, Expression> expressions = new ConcurrentHashMap<>();
    private final BeanFactory beans;
    private final Supplier<FirstcomeClient> client;

    FirstComeInterceptor(BeanFactory beans, Supplier<FirstcomeClient> client) {
        this.beans = beans;
        this.client = client;
    }

    @Override
    public Object invoke(MethodInvocation call) throws Throwable {
        Object target = call.getThis();
        Method method = target == null ? call.getMethod() : AopUtils.getMostSpecificMethod(call.getMethod(), target.getClass());
        FirstCome wanted = AnnotatedElementUtils.findMergedAnnotation(method, FirstCome.class);
        if (wanted == null) {
            return call.proceed();
        }
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(target, method, call.getArguments(), names);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        String campaign = text("campaign", wanted.campaign(), context);
        String subject = text("subject", wanted.subject(), context);
        String pool = wanted.pool().isEmpty() ? null : text("pool", wanted.pool(), context);
        if (wanted.quantity() == 0 && wanted.units().isEmpty()) {
            return claimed(call, wanted, client.get().claim(campaign, subject, pool));
        }
        if (wanted.quantity() != 0 && !wanted.units().isEmpty()) {
            throw new IllegalStateException("@FirstCome on " + method + " has a quantity and units: only one of them is held");
        }
        Class<?> returns = method.getReturnType();
        if (Future.class.isAssignableFrom(returns) || CompletionStage.class.isAssignableFrom(returns)
                || Flow.Publisher.class.isAssignableFrom(returns) || returns.getName().startsWith("reactor.core.publisher.")) {
            throw new IllegalStateException("@FirstCome with a hold on " + method + " needs a method that returns when it is done: "
                    + "the hold is confirmed when it returns");
        }
        Pick pick = wanted.quantity() != 0 ? Pick.quantity(wanted.quantity()) : Pick.units(units(wanted.units(), context));
        return held(call, wanted, HoldRequest.of(campaign, subject, pool == null ? pick : pick.pool(pool)));
    }

    private Object claimed(MethodInvocation call, FirstCome wanted, ClaimOutcome outcome) throws Throwable {
        if (outcome instanceof Won || outcome instanceof AlreadyWon && wanted.again()) {
            return proceed(call, Set.of(ClaimOutcome.class, WonPlace.class), outcome);
        }
        throw new NotFirstException(outcome, false);
    }

    private Object held(MethodInvocation call, FirstCome wanted, HoldRequest request) throws Throwable {
        // Closing releases what was not confirmed, also when the method throws.
        try (HoldOutcome outcome = client.get().hold(request)) {
            if (!(outcome instanceof Held held)) {
                throw new NotFirstException(outcome, false);
            }
            Object result = proceed(call, Set.of(Held.class), held);
            Object end = held.confirm(wanted.late());
            if (!(end instanceof Confirmed)) {
                throw new NotFirstException(end, true);
            }
            return result;
        }
    }

    /** Runs the method, with what was won or held as each argument of one of these types that is null. */
    private static Object proceed(MethodInvocation call, Set<Class<?>> wanted, Object value) throws Throwable {
        Object[] arguments = call.getArguments().clone();
        Class<?>[] types = call.getMethod().getParameterTypes();
        for (int at = 0; at < types.length; at++) {
            if (wanted.contains(types[at]) && arguments[at] == null) {
                arguments[at] = value;
                ((ProxyMethodInvocation) call).setArguments(arguments);
            }
        }
        return call.proceed();
    }

    private Object value(String text, EvaluationContext context) {
        return expressions.computeIfAbsent(text, each -> parser.parseExpression(each, ParserContext.TEMPLATE_EXPRESSION)).getValue(context);
    }

    private String text(String what, String text, EvaluationContext context) {
        Object value = value(text, context);
        if (value == null) {
            throw new IllegalArgumentException("the " + what + " of @FirstCome is null: " + text);
        }
        return String.valueOf(value);
    }

    private String[] units(String text, EvaluationContext context) {
        Object value = value(text, context);
        if (value instanceof String[] names) {
            return names;
        }
        Collection<?> all = value instanceof Collection<?> many ? many : Collections.singletonList(value);
        if (all.isEmpty() || all.stream().anyMatch(Objects::isNull)) {
            throw new IllegalArgumentException("the units of @FirstCome are none: " + text);
        }
        return all.stream().map(String::valueOf).toArray(String[]::new);
    }
}
