package com.example.shop;

import io.firstcome.client.WonPlace;
import io.firstcome.spring.FirstCome;
import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** The orders of the drop, in the shop's own database. */
@Service
public class Orders {
    /** What somebody ordered. */
    public record Order(long place, String customer) {
    }

    private final JdbcClient database;

    Orders(JdbcClient database) {
        this.database = database;
    }

    /**
     * Runs only for those who get a place, and gives its number. The caller gives null for the place.
     *
     * <p>It runs again when a winner asks again. That does no harm, and makes the order that a crash prevented.
     */
    @FirstCome(campaign = "drop", subject = "#{#customer}")
    @Transactional
    public long order(String customer, WonPlace place) {
        database.sql("INSERT INTO orders (customer, place) VALUES (?, ?) ON CONFLICT DO NOTHING").params(customer, place.rank()).update();
        // Reading it back fails if the place was somebody else's.
        return database.sql("SELECT place FROM orders WHERE customer = ?").param(customer).query(Long.class).single();
    }

    /** All orders, by place. */
    public List<Order> all() {
        return database.sql("SELECT place, customer FROM orders ORDER BY place").query(Order.class).list();
    }
}
